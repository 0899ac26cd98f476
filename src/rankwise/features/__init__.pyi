from .nystroem import Nystroem as Nystroem
from .polynomial_terms import PolynomialTerms as PolynomialTerms
from .query_scaling import QueryScaler as QueryScaler
from .random_fourier import RandomFourier as RandomFourier
from .random_nodes import RandomNodes as RandomNodes
from .random_perceptrons import RandomPerceptrons as RandomPerceptrons
