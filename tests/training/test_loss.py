import pytest
import torch

from supernetic.training.loss import label_loss, teacher_loss


def test_label_smoothing_by_hand() -> None:
    logits, labels = torch.randn(5, 4, generator=torch.Generator().manual_seed(0)), torch.tensor([0, 1, 2, 3, 3])
    log_p = logits.log_softmax(1)
    target = torch.full((5, 4), 0.1 / 4)
    target[range(5), labels] += 0.9
    assert float(label_loss(logits, labels, 0.1)) == pytest.approx(float(-(target * log_p).sum(1).mean()))
    assert float(label_loss(logits, labels)) == pytest.approx(float(-log_p[range(5), labels].mean()))


def test_class_weights_multiply_the_loss_of_each_image() -> None:
    logits, labels = torch.randn(5, 3, generator=torch.Generator().manual_seed(0)), torch.tensor([0, 1, 2, 2, 2])
    weights = torch.tensor([2.0, 1.0, 0.5])
    each = [float(label_loss(logits[i : i + 1], labels[i : i + 1], 0.1)) for i in range(5)]
    expected = sum(w * loss for w, loss in zip((2, 1, 0.5, 0.5, 0.5), each, strict=True)) / 5
    assert float(label_loss(logits, labels, 0.1, weights)) == pytest.approx(expected)
    assert label_loss(logits, labels, 0.1, torch.ones(3)) == pytest.approx(label_loss(logits, labels, 0.1))


def test_distillation_by_hand_and_without_a_gradient_for_the_teacher() -> None:
    generator = torch.Generator().manual_seed(0)
    teacher, logits = (torch.randn(6, 3, generator=generator, requires_grad=True) for _ in range(2))
    loss = teacher_loss(logits, teacher)
    expected = -(teacher.softmax(1) * logits.log_softmax(1)).sum(1).mean()
    assert float(loss.detach()) == pytest.approx(float(expected.detach()))
    loss.backward()  # type: ignore[no-untyped-call]
    assert teacher.grad is None
    assert logits.grad is not None
    torch.testing.assert_close(logits.grad, (logits.softmax(1) - teacher.softmax(1)).detach() / 6)


def test_a_pupil_that_agrees_learns_nothing() -> None:
    teacher = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    pupil = teacher.clone().requires_grad_()
    teacher_loss(pupil, teacher).backward()  # type: ignore[no-untyped-call]
    assert pupil.grad is not None
    assert pupil.grad.abs().max() < 1e-7
