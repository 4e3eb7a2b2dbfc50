"""Test a retriever with pytest, which finds the plugin by its own entry point: see `krag_eval_pytest.plugin`."""
