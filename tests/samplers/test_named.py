import tomllib

import pytest
import tomli_w

from supernetic.errors import InputError, UnknownNameError
from supernetic.samplers.attentive import Attentive
from supernetic.samplers.budgeted import Budgeted
from supernetic.samplers.fixed import Fixed
from supernetic.samplers.named import SAMPLERS, sampler, settings_of
from supernetic.samplers.sandwich import Sandwich
from supernetic.samplers.strict_fair import StrictFair
from supernetic.samplers.uniform import Uniform


def test_by_name_and_by_table() -> None:
    assert sampler("uniform") == Uniform()
    table = tomllib.loads('name = "sandwich"\nn = 1\n[between]\nname = "attentive"\nk = 5\nwidth = 10_000_000')
    assert sampler(table) == Sandwich(1, Attentive(k=5, width=1e7))
    assert sampler({"name": "budgeted", "where": ["macs<=1M"], "of": "uniform"}) == Budgeted(
        ("macs<=1M",), of=Uniform()
    )


def test_plain_settings_may_stand_behind_the_name() -> None:
    assert sampler("attentive:k=5") == Attentive(k=5)
    assert sampler("fixed:choice=layer1,option=MB3_K3") == Fixed("layer1", "MB3_K3")
    assert sampler({"name": "sandwich", "between": "attentive:k=5"}) == Sandwich(between=Attentive(k=5))
    with pytest.raises(UnknownNameError, match="unknown setting of attentive 'j'"):
        sampler("attentive:j=3")
    with pytest.raises(InputError, match="attentive: k must be a whole number, got 'three'"):
        sampler("attentive:k=three")


@pytest.mark.parametrize("name", SAMPLERS)
def test_settings_survive_toml(name: str) -> None:
    made = SAMPLERS[name]()
    assert sampler(tomllib.loads(tomli_w.dumps(settings_of(made)))) == made


def test_nested_settings_survive() -> None:
    made = Sandwich(3, Budgeted(("macs<=1M",), of=StrictFair(fresh_batch=True)))
    assert sampler(settings_of(made)) == made


def test_refusals() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'sandwich'"):
        sampler("sandwitch")
    with pytest.raises(UnknownNameError, match="unknown setting of attentive 'j'"):
        sampler({"name": "attentive", "j": 3})
    with pytest.raises(InputError, match="attentive: k must be int, got 'three'"):
        sampler({"name": "attentive", "k": "three"})
    with pytest.raises(InputError, match="strict_fair: fresh_batch must be bool, got 1"):
        sampler({"name": "strict_fair", "fresh_batch": 1})
    with pytest.raises(UnknownNameError, match="unknown sampler ''"):
        sampler({"k": 3})
