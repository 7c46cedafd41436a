spnc inspect cases/public.yaml
