"""What histories tell: DataFrames in, DataFrames out."""
