"""A protocol from outside, as an installed package brings one: four rooms and their entry points.

Whoever has this folder on PYTHONPATH has the protocol `poll`: the folder `parley_toy-1.0.dist-info` beside this file is
what installing the package would leave.
"""
