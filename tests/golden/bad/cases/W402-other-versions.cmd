spnc compile cases/locked-versions.yaml
