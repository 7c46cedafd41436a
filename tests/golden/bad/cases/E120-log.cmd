spnc train cases/good.yaml --out run --log nowhere/log.jsonl
