"""Reports: the HTML page about a run, and pictures of models and runs.

`facts/` computes what a page says, as plain data; `page/` turns facts into HTML; `plots/` draws
pictures and is the only place that imports matplotlib; `build.py` writes a page from a run folder.
"""
