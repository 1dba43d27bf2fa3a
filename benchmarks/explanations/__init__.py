"""Whether explanations name what was broken: wrong values planted into tables, and the same beside SHAP."""
