"""Check what compiled code takes for granted: valid positions, and arrays that fit together.

NumPy and scikit-learn check shapes in Python code and raise errors; libsvm, trees, boosting and
sparse matrices do not, and would read other parts of memory. So everything in a file is checked
here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import VotingClassifier
from sklearn.ensemble._forest import BaseForest
from sklearn.ensemble._gb import BaseGradientBoosting
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.neighbors import BallTree, KDTree
from sklearn.neighbors._base import NeighborsBase
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures
from sklearn.svm._base import BaseLibSVM
from sklearn.tree._classes import BaseDecisionTree
from sklearn.tree._tree import NODE_DTYPE, Tree

from .._base import PartialLabelClassifier
from .._neighbours import NeighbourClassifier
from .._peer_models import BANK
from ..crowd import CrowdClassifier
from ._archive import require
from ._types import name_of

#: Maximum number of features.
MOST_FEATURES = 10**8
#: Maximum number of columns that one transformer produces.
MOST_COLUMNS = 10**6
#: Maximum number of hashed features: their matrices may become dense.
MOST_PLACES = 2**22
#: Maximum length of n-grams.
MOST_TOGETHER = 100
#: Attributes with one column for each feature, which compiled code multiplies with X.
WIDE = ("cluster_centers_", "_fit_X")


def check_consistent(made: Any) -> None:
    """Check that the parts of an estimator fit together where compiled code does not check.

    Parameters
    ----------
    made : object
        An object that was built from a file, after its parts.
    """
    for kinds, checked in (
        (BaseDecisionTree, _check_tree),
        (BaseForest, _check_forest),
        (BaseGradientBoosting, _check_boosting),
        (BaseHistGradientBoosting, _check_hist_boosting),
        (VotingClassifier, _check_votes),
        (BaseLibSVM, _check_libsvm),
        (NeighborsBase, _check_neighbours),
        ((CountVectorizer, DictVectorizer), _check_vocabulary),
        (OneHotEncoder, _check_one_hot),
        ((FeatureHasher, HashingVectorizer), _check_hashing),
        ((CountVectorizer, HashingVectorizer), _check_words),
        (PolynomialFeatures, _check_polynomials),
        (DummyClassifier, _check_dummy_classifier),
        (DummyRegressor, _check_dummy_regressor),
        (NeighbourClassifier, _check_our_neighbours),
        (PartialLabelClassifier, _check_our_classes),
        (CrowdClassifier, _check_crowd),
    ):
        if isinstance(made, kinds):
            checked(made)
    if name_of(type(made)) == "surelabel.tables.encoding.TableEncoder" and hasattr(
        made, "encoders_"
    ):
        require(0 < made._ends()[-1] <= MOST_COLUMNS, "too many columns")
    count = getattr(made, "n_classes_", None)
    if isinstance(count, int | np.integer) and isinstance(made.classes_, np.ndarray):
        require(count == len(made.classes_), "other classes")
    for name in WIDE:
        wide: Any = getattr(made, name, None)
        if isinstance(wide, np.ndarray) or issparse(wide):
            require(wide.ndim == 2 and wide.shape[0], f"no {name}")
            require(wide.shape[1] == _width(made), f"{name} of another width")
    if not isinstance(made, BaseLibSVM):
        _check_linear(vars(made) if hasattr(made, "__dict__") else {})


def _check_linear(of: Mapping[str, Any]) -> None:
    """Check intercepts: NumPy would add one that is too long to every row."""
    outputs = 1
    if isinstance(coef := of.get("coef_"), np.ndarray) and coef.ndim == 2:
        outputs = len(coef)
    if isinstance(dual := of.get("dual_coef_"), np.ndarray) and dual.ndim == 2:
        outputs = max(outputs, dual.shape[1])
    if isinstance(duals := of.get("dual_coefs_"), list):  # each is checked together with its points
        outputs = max([outputs, *(dual.shape[1] for dual in duals)])
    for name in ("intercept_", "origin_output_"):
        require(np.size(of.get(name, 0)) <= outputs, f"{name} of another length")


def _check_crowd(made: Any) -> None:
    kernels = getattr(made, "kernels_", None) or []
    parts = [getattr(made, name, []) for name in ("scalings_", "points_", "dual_coefs_")]
    require(all(isinstance(part, list) for part in (kernels, *parts)), "a model of votes")
    require(all(len(part) == len(kernels) for part in parts), "a model of votes")
    for kernel, points, dual in zip(kernels, *parts[1:], strict=True):
        require(isinstance(kernel, dict), "a kernel")
        require((kernel.get("scaling"), kernel.get("kernel")) in BANK, "a kernel")
        require(isinstance(points, np.ndarray) and points.ndim == 2, "no points")
        require(points.shape[1] == _width(made), "points of another width")
        require(
            np.shape(dual) == (len(points), len(made.classes_)), "coefficients of another shape"
        )


def _width(made: Any) -> int:
    """The number of features, which scikit-learn then checks for every X."""
    width = getattr(made, "n_features_in_", None)
    require(
        isinstance(width, int | np.integer) and 0 < width <= MOST_FEATURES, "no number of features"
    )
    assert width is not None
    return int(width)


# -------------------------------------------------------------------- trees


def tree_of(
    n_features: int,
    n_classes: list[int],
    max_depth: int,
    fields: list[str],
    nodes: Any,
    values: Any,
) -> Tree:
    """A tree whose children come after their parents and whose features are within X."""
    records = _records(nodes, fields, NODE_DTYPE)
    left, right, feature = (records[name] for name in ("left_child", "right_child", "feature"))
    _check_children(left != -1, left, right, feature, n_features)
    require(np.all(right[left == -1] == -1), "a tree")
    require(min(n_classes, default=0) > 0, "a tree")
    shape = (len(records), len(n_classes), max(n_classes))
    require(isinstance(values, np.ndarray) and values.shape == shape, "a tree of other values")
    require(values.dtype == np.float64 and max_depth <= len(records), "a tree")
    tree = Tree(n_features, np.array(n_classes, dtype=np.intp), len(n_classes))
    tree.__setstate__(
        {
            "max_depth": max_depth,
            "node_count": len(records),
            "nodes": records,
            "values": np.ascontiguousarray(values),
        }
    )
    return tree


def tree_predictor(fields: list[str], nodes: Any) -> TreePredictor:
    """A tree of histogram boosting, without categories."""
    records = _records(nodes, fields, PREDICTOR_RECORD_DTYPE)
    feature = records["feature_idx"]
    _check_children(records["is_leaf"] == 0, records["left"], records["right"], feature, None)
    require(
        not records["is_categorical"].any(),
        "histogram boosting with categorical features is not in model files",
    )
    none = np.zeros((0, 8), dtype=np.uint32)
    return TreePredictor(records, none, none)


def _records(nodes: Any, fields: list[str], dtype: np.dtype) -> np.ndarray:
    known = [*(f"{name} {dtype[name].str}" for name in dtype.names or ()), str(dtype.itemsize)]
    require(fields == known, "a tree of another version of scikit-learn")
    require(
        isinstance(nodes, np.ndarray)
        and nodes.dtype == np.uint8
        and nodes.ndim == 2
        and len(nodes)
        and nodes.shape[1] == dtype.itemsize,
        "a tree without nodes",
    )
    return np.frombuffer(nodes.tobytes(), dtype).copy()


def _check_children(
    inner: np.ndarray, left: np.ndarray, right: np.ndarray, feature: np.ndarray, width: int | None
) -> None:
    at = np.flatnonzero(inner)
    for child in (left[at].astype(np.int64), right[at].astype(np.int64)):
        require(np.all((child > at) & (child < len(inner))), "a tree with children elsewhere")
    most = MOST_FEATURES if width is None else width
    require(np.all((feature[at] >= 0) & (feature[at] < most)), "a tree of other features")


def _check_tree(made: BaseDecisionTree) -> None:
    if hasattr(made, "tree_"):
        tree = made.tree_
        require(type(tree) is Tree, "an estimator without its tree")
        require(tree.n_features == _width(made), "a tree of other features")
        require(made.n_outputs_ == tree.n_outputs, "a tree of other outputs")
        classes = np.atleast_1d(getattr(made, "n_classes_", [1] * made.n_outputs_))
        require(np.array_equal(classes, tree.n_classes), "a tree of other classes")


def _check_trees(trees: Iterable[Any], width: int) -> None:
    for tree in trees:
        require(isinstance(tree, BaseDecisionTree) and hasattr(tree, "tree_"), "no tree")
        require(_width(tree) == width, "trees of other features")


def _check_forest(made: BaseForest) -> None:
    if hasattr(made, "estimators_"):
        require(isinstance(made.estimators_, list) and made.estimators_, "a forest")
        _check_trees(made.estimators_, _width(made))
        for tree in made.estimators_:
            require(made.n_outputs_ == tree.n_outputs_, "trees of other outputs")
            same = np.array_equal(getattr(made, "n_classes_", 1), getattr(tree, "n_classes_", 1))
            require(same, "trees of other classes")


def _check_boosting(made: BaseGradientBoosting) -> None:
    if not hasattr(made, "estimators_"):
        return
    trees = made.estimators_
    require(isinstance(trees, np.ndarray) and trees.ndim == 2 and trees.size, "no trees")
    _check_trees(trees.flat, _width(made))
    for tree in trees.flat:
        require(tree.tree_.value.shape[1:] == (1, 1), "a tree of other values")
    require(made.n_trees_per_iteration_ == trees.shape[1], "other classes")
    dummies = (DummyClassifier, DummyRegressor)
    require(
        made.init_ == "zero" if isinstance(made.init_, str) else type(made.init_) in dummies,
        "gradient boosting with a model of its own to begin with is not in model files",
    )
    # compiled code adds the trees to this without checking its width
    start = made._raw_predict_init(np.zeros((1, _width(made)), dtype=np.float32))
    require(start.shape == (1, trees.shape[1]) and start.dtype == np.float64, "other classes")


def _check_hist_boosting(made: BaseHistGradientBoosting) -> None:
    if not hasattr(made, "_predictors"):
        return
    require(
        made._preprocessor is None,
        "histogram boosting with categorical features is not in model files",
    )
    require(isinstance(made._predictors, list), "no trees")
    # during a fit, X is not checked
    require(getattr(made, "_in_fit", False) is False, "histogram boosting that is not fitted")
    width = _width(made)
    binned = made._bin_mapper.is_categorical_
    require(isinstance(binned, np.ndarray) and binned.dtype == np.uint8, "other bins")
    require(binned.shape == (width,) and not binned.any(), "other bins")
    for trees in made._predictors:
        require(isinstance(trees, list), "no trees")
        require(made.n_trees_per_iteration_ == len(trees), "other classes")
        for tree in trees:
            require(isinstance(tree, TreePredictor), "no tree")
            features = tree.nodes["feature_idx"][tree.nodes["is_leaf"] == 0]
            require(np.all(features < width), "a tree of other features")


def _check_votes(made: VotingClassifier) -> None:
    """Check votes: they are counted in an array as long as the largest of them."""
    for voter in getattr(made, "estimators_", ()):
        require(is_classifier(voter), "a voter that is not a classifier")
        votes = np.asarray(voter.classes_)
        possible = votes.dtype.kind in "iu" and np.all((votes >= 0) & (votes < len(made.classes_)))
        require(possible, "votes for other classes")


# -------------------------------------------------------------------- libsvm, neighbours


def _check_libsvm(made: BaseLibSVM) -> None:
    if not hasattr(made, "support_"):
        return
    support, counts = made.support_, made._n_support
    arrays = (support, counts, made._dual_coef_, made._intercept_, made._probA, made._probB)
    if made._sparse:
        require(issparse(made._dual_coef_), "a support vector machine")
        arrays = (*arrays[:2], made._dual_coef_.data, *arrays[3:])
    require(all(isinstance(array, np.ndarray) for array in arrays), "a support vector machine")
    require(support.dtype == counts.dtype == np.int32, "a support vector machine")
    require(support.ndim == counts.ndim == 1, "a support vector machine")
    rows, classes = len(support), len(counts)
    pairs = classes * (classes - 1) // 2
    classifies = hasattr(made, "classes_")
    require(classes == (len(made.classes_) if classifies else 2), "other classes")
    total = int(counts.sum()) if classifies else int(counts[0])
    require(counts.min() >= 0 and total == rows, "other support vectors")
    require(made._dual_coef_.shape == (classes - 1, rows), "other coefficients")
    if made._sparse:
        require(made._dual_coef_.data.shape == ((classes - 1) * rows,), "other coefficients")
    require(made._intercept_.shape == (pairs,), "other intercepts")
    for chances in (made._probA, made._probB):
        require(chances.shape in ((0,), (pairs,)), "other probabilities")
    require(len(made._probA) == len(made._probB), "other probabilities")
    # libsvm reads these if a flag says that there are some
    promised = {made.probability, getattr(made, "_effective_probability", False)}
    require(promised <= {False, "deprecated"} or len(made._probA) == pairs, "other probabilities")
    fitted = made.shape_fit_[0]
    require(isinstance(fitted, int) and rows <= fitted, "other support vectors")
    require(np.all((support >= 0) & (support < fitted)), "other support vectors")
    vectors = made.support_vectors_
    require(issparse(vectors) == bool(made._sparse), "other support vectors")
    if callable(made.kernel) or made.kernel == "precomputed":
        width = len(made._BaseLibSVM__Xfit) if callable(made.kernel) else _width(made)
        require(width == fitted, "other instances")
        require(vectors.shape == (0, 0) or len(vectors) == rows, "other support vectors")
    else:
        require(vectors.shape == (rows, _width(made)), "other support vectors")


def neighbour_tree(state: Mapping[str, Any]) -> Any:
    """The search tree of a nearest-neighbour estimator, as its ``fit`` builds it."""
    kinds = {"kd_tree": KDTree, "ball_tree": BallTree}
    if state["_fit_method"] not in kinds:
        return None
    return kinds[state["_fit_method"]](
        state["_fit_X"],
        state["leaf_size"],
        metric=state["effective_metric_"],
        **state["effective_metric_params_"],
    )


def _check_neighbours(made: NeighborsBase) -> None:
    if not hasattr(made, "_fit_X"):
        return
    rows = made._fit_X.shape[0]
    require(made.n_samples_fit_ == rows, "other instances")
    if hasattr(made, "n_neighbors"):
        count = made.n_neighbors
        require(isinstance(count, int | np.integer) and 0 < count <= rows, f"{count} neighbours")
    metric, options = made.effective_metric_, made.effective_metric_params_
    require(callable(metric) or isinstance(metric, str), "other distances")
    require(metric != "precomputed", "neighbours of given distances are not in model files")
    require(isinstance(options, dict), "other distances")
    for option in options.values():  # such as a weight for each feature
        fits = np.ndim(option) == 0 or {_width(made)} == set(np.shape(option))
        require(fits, "other distances")
    if hasattr(made, "_y"):
        labels = made._y
        require(isinstance(labels, np.ndarray) and len(labels) == rows, "other labels")
        if hasattr(made, "classes_"):
            classes = made.classes_ if isinstance(made.classes_, list) else [made.classes_]
            require(labels.dtype.kind == "i", "other labels")
            columns = labels.reshape(rows, -1)
            require(columns.shape[1] == len(classes), "other labels")
            for column, names in zip(columns.T, classes, strict=True):
                require(np.all((column >= 0) & (column < len(names))), "other labels")


# -------------------------------------------------------------------- what makes sparse matrices


def _check_vocabulary(made: Any) -> None:
    words = getattr(made, "vocabulary_", None)
    if words is not None:
        require(isinstance(words, dict), "no vocabulary")
        positions = np.array(list(words.values()))
        require(
            positions.dtype.kind == "i" and np.all((positions >= 0) & (positions < len(words))),
            "a vocabulary of other positions",
        )


def _check_one_hot(made: OneHotEncoder) -> None:
    if not hasattr(made, "categories_"):
        return
    n = _width(made)
    require(isinstance(made.categories_, list) and len(made.categories_) == n, "other categories")
    grouping, infrequent, dropped = [None] * n, [None] * n, [None] * n
    if made._infrequent_enabled:
        grouping, infrequent = made._default_to_infrequent_mappings, made._infrequent_indices
    if made._drop_idx_after_grouping is not None:
        dropped = list(made._drop_idx_after_grouping)
    columns = []
    for names, mapping, rare, drop in zip(
        made.categories_, grouping, infrequent, dropped, strict=True
    ):
        require(isinstance(names, np.ndarray) and names.ndim == 1, "other categories")
        if names.dtype.kind not in "OUS":  # positions are found by bisection
            known = names[:-1] if len(names) and names[-1] != names[-1] else names
            require(np.all(known[1:] > known[:-1]), "categories that are not sorted")
        size = len(names)
        require((mapping is None) == (rare is None), "other categories")
        if mapping is not None:
            size -= rare.size - 1
            require(mapping.shape == names.shape, "other categories")
            require(np.all((mapping >= 0) & (mapping < size)), "other categories")
        if drop is not None:
            require(0 <= drop < size, "other categories")
            size -= 1
        columns.append(size)
    require(list(made._n_features_outs) == columns, "other categories")


def _check_hashing(made: Any) -> None:
    places = made.n_features
    require(isinstance(places, int) and 0 < places <= MOST_PLACES, f"{places} hashed features")


def _check_words(made: Any) -> None:
    """Check patterns: some take hours to match, but not one repetition without groups."""
    require(made.input == "content", "a vectorizer that opens files is not in model files")
    low, high = made.ngram_range
    bounded = all(isinstance(n, int | np.integer) for n in (low, high))
    require(bounded and 0 < low <= high <= MOST_TOGETHER, f"ngram_range is {low}, {high}")
    pattern = made.token_pattern
    if pattern is not None:
        text = pattern.removeprefix("(?u)")
        simple = "(" not in text and len(re.findall(r"[*+?{]", text)) <= 1
        require(
            simple and len(text) <= 1000,
            "a token_pattern with a group or several repetitions is not in model files",
        )


def _check_polynomials(made: PolynomialFeatures) -> None:
    if hasattr(made, "n_output_features_"):
        require(all(0 <= n <= 20 for n in (made._min_degree, made._max_degree)), "other degrees")
        columns = made._num_combinations(
            _width(made),
            made._min_degree,
            made._max_degree,
            made.interaction_only,
            made.include_bias,
        )
        require(columns == made.n_output_features_, "other degrees")
        require(max(columns, made._n_out_full) <= MOST_COLUMNS, "too many columns")


def _check_dummy_classifier(made: DummyClassifier) -> None:
    if hasattr(made, "classes_"):
        several = isinstance(made.classes_, list)
        classes, counts = (
            (made.classes_, made.n_classes_) if several else ([made.classes_], [made.n_classes_])
        )
        require(made.n_outputs_ == len(classes) == len(counts), "other classes")
        require([len(names) for names in classes] == list(counts), "other classes")
        if made.strategy == "constant":
            given = np.reshape(made.constant, -1)
            require(len(given) == len(classes), "other classes")
            for label, names in zip(given, classes, strict=True):
                require(label in names, "another class")


def _check_dummy_regressor(made: DummyRegressor) -> None:
    if hasattr(made, "constant_"):
        require(made.constant_.shape == (1, made.n_outputs_), "other outputs")


def _check_our_classes(made: PartialLabelClassifier) -> None:
    """Check the number of classes: scores take memory for every row and class."""
    classes = np.size(getattr(made, "classes_", ()))
    require(classes <= 10_000 or classes <= made.confidence_.nnz, "other classes")


def _check_our_neighbours(made: NeighbourClassifier) -> None:
    if hasattr(made, "X_fit_"):
        count = made.n_neighbors
        require(isinstance(made.X_fit_, np.ndarray) and made.X_fit_.ndim == 2, "no instances")
        known = isinstance(count, int | np.integer) and 0 < count <= len(made.X_fit_)
        require(known, f"{count} neighbours")
        require(made.search in ("exact", "approximate"), "another search")
