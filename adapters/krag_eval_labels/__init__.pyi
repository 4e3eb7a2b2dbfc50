"""The public names, once: type checkers read them here, and `__init__.py` loads each when it is first used."""

from .audit import audit_labels as audit_labels
from .estimation import Agreement as Agreement
from .estimation import Estimate as Estimate
from .estimation import Estimation as Estimation
from .estimation import estimate as estimate
from .estimation import label_agreement as label_agreement
from .estimation import plan_labels as plan_labels
from .files import apply_labels as apply_labels
from .files import write_queue as write_queue
from .findings import Finding as Finding
from .findings import ValidationReport as ValidationReport
from .reanchoring import ReanchorReport as ReanchorReport
from .reanchoring import reanchor as reanchor
from .report import DoctorReport as DoctorReport
from .start import LogNumber as LogNumber
from .start import number_from_labels as number_from_labels
from .start import start_from_log as start_from_log
from .validation import validate as validate
from .versions import Versions as Versions
from .versions import find_versions as find_versions
