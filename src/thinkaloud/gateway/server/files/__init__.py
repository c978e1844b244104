"""Imports and exports, computed in processes of their own."""
