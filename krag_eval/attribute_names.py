"""What to write instead of an attribute that there is in other tools, and not here."""

from __future__ import annotations

from typing import Any

from krag_eval.metric_names import keys_meant

# In each row: an attribute by which the objects are known that it is for, what to write, and what it stands for in
# ragas, ranx, LlamaIndex, pandas and scipy. The first row that fits is told.
_ROWS: list[tuple[str, str, str]] = [
    (
        "means",
        "`means`, one row a system and cut-off, or `per_query`",
        "to_pandas to_df to_dataframe df scores to_dict",
    ),
    ("to_pandas", "`to_pandas()`", "to_df to_dataframe to_frame dataframe df as_dataframe to_polars to_csv"),
    (
        "transitions",
        "`comparison['hybrid', 'recall@5']` with a system and a key, and of this row `p_holm`, `verdict`, `difference`",
        "p p_value pvalue p_values winner better best significant is_significant difference verdict wins",
    ),
    ("p_holm", "`p_holm`, adjusted for all tests made together, or `p`", "p_value pvalue p_val p_adjusted"),
    ("verdict", "`verdict`, or `is_significant`", "winner better best significant significance is_better"),
    ("metric_values", "`values`", "scores score metrics metric_dict metric_vals_dict"),
    ("to_dict", "`to_dict()`", "scores values items get metrics as_dict asdict model_dump dict summary results"),
    ("to_json", "`to_json()`", "json dumps model_dump_json"),
    ("report", "`report('report.html')`", "save write export to_html to_markdown to_csv html show plot"),
    ("further", "`write_report(report, 'report.html')`", "save write export to_html to_markdown to_json html report"),
    ("per_query", "`per_query`", "rows per_question queries details samples traces query_results"),
    ("n_queries", "`n_queries`", "n_questions num_queries num_questions size"),
    ("signature", "`signature`", "settings config parameters"),
    ("exit_code", "`status`, or `exit_code`, which is 0 where all holds", "ok success passed is_ok is_passed failed"),
    ("checks", "`checks`", "failures results rows requirements"),
    ("misses", "`misses`, or `counts` of them by cause", "failures missed rows scores reasons"),
    ("fragile", "`values` beside `thresholds`: a best one is found by `calibrate`", "best best_threshold optimal"),
    ("get_evaluator", "`evaluate_all(actual_docs, predicted_docs, k)`", "evaluate score run"),
    ("get_evaluator", "`get_evaluator()` after a call", "calculate_recall calculate_mrr calculate_ndcg result"),
    ("calculate_f1_score", "`calculate_f1_score(k)`", "calculate_f1 f1 f1_score"),
    ("calculate_hit_rate", "`calculate_hit_rate(k)`", "hit_rate calculate_hitrate calculate_hit hit"),
    ("calculate_map", "`calculate_map(k)`", "map calculate_average_precision average_precision"),
    ("calculate_mrr", "`calculate_mrr(k)`", "mrr calculate_reciprocal_rank"),
    ("calculate_ndcg", "`calculate_ndcg(k)`", "ndcg calculate_NDCG"),
    ("calculate_precision", "`calculate_precision(k)`", "precision"),
    ("calculate_recall", "`calculate_recall(k)`", "recall"),
    (
        "calculate_recall",
        "`evaluate_all(k)`, a dict",
        "get_metrics_by_averaging_method evaluate scores metrics results to_dict calculate_all",
    ),
]


def instead_of(known: Any, name: str) -> str:
    """A full stop and a sentence on what to write, or nothing."""
    value_of = known._value_of  # noqa: SLF001 - what `TellsAttributes` has for this
    if value_of:
        keys = known.keys if "keys" in dir(known) else known.values
        meant = keys_meant(name, list(keys() if callable(keys) else keys))
        if meant:
            others = f", or for {', '.join(map(repr, meant[1:]))} alike" if meant[1:] else ""
            return f". Write {value_of.format(repr(meant[0]))}{others}."
    known_by = {*dir(type(known)), *getattr(type(known), "__dataclass_fields__", ())}
    return next((f". Write {write}." for own, write, others in _ROWS if own in known_by and name in others.split()), "")
