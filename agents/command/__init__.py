"""The model that is a program of the operator's."""
