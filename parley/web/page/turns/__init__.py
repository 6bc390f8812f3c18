"""Turns of people at pages: what is asked, the form, and the reply."""
