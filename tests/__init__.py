"""Tests of vanishing; their folders are those of the package."""
