spnc check cases/public.yaml
