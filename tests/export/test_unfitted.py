"""Models that are not fitted, and what is no model, are refused by every format."""

import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import LambdaMART, RidgeRanker, export

WRITERS = [
    export.to_lightgbm, export.to_xgboost, export.to_onnx, export.to_solr, export.to_elasticsearch,
    export.to_opensearch, export.to_vespa, export.to_ranklib, export.to_python,
]  # fmt: skip


@pytest.mark.parametrize("write", WRITERS)
def test_models_that_are_not_fitted(write):
    for model in (LambdaMART(), make_pipeline(StandardScaler(), LambdaMART()), RidgeRanker()):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            write(model)


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("given", [None, "model.rw", LambdaMART])
def test_what_is_no_model(write, given):
    with pytest.raises((TypeError, ValueError)) as caught:
        write(given)
    assert "attribute" not in str(caught.value)
