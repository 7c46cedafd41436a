"""What every room uses: files, random streams, threads, wording. Imports no other room."""
