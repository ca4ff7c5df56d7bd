"""The algorithms as plain functions: arrays in, arrays out. The estimators use them; nothing here
is public, and it may change in any version.
"""

__all__: list[str] = []
