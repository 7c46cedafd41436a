"""Circuits as graphs: nodes, scopes, marginalisation, and reading and writing."""
