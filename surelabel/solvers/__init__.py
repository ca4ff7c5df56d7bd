"""The algorithms as plain functions: arrays in, arrays out. They serve the estimators and may
change in any version; nothing here is public.
"""

__all__: list[str] = []
