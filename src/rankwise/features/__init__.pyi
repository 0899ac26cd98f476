from .nystroem import Nystroem as Nystroem
from .polynomial_terms import PolynomialTerms as PolynomialTerms
from .query_scaling import QueryScaler as QueryScaler
from .random_features import RandomFourier as RandomFourier
from .random_features import RandomNodes as RandomNodes
from .random_features import RandomPerceptrons as RandomPerceptrons
