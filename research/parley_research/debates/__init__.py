"""`parley eval debates`: recorded debates and live sessions, under many methods, with figures that can be repeated.

`record` holds the data types, `method` what a method is, `registry` which methods and data sets there are, `harness`
runs them. Other packages add methods through `registry`.
"""
