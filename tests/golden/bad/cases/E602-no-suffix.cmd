spnc plot history shared/broken-run -o history
