spnc data show 'shared/cups/*.parquet'
