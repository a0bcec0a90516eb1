# SPDX-License-Identifier: MIT
"""Profiles made by hand go through OpenTelemetry's own Collector, and what comes out says the same: the chain that the tests of
OTLP stand on works, with what it says when something does not."""

import concurrent.futures
import http.client
import time
import urllib.error

import pytest

import made_otlp
import otlp_check
from collector import FOREVER, Answer, post
from recording import wait_until


# ---- through the Collector ----

@pytest.mark.parametrize("made", [made_otlp.small, made_otlp.timed])
def test_what_goes_in_comes_out(collector, made):
    request = made().request
    assert post(collector.url, request).status == 200
    (arrived,) = collector.received()
    assert otlp_check.equal(arrived, request)
    assert not otlp_check.equal(arrived, made_otlp.small("other").request)
    assert otlp_check.check(request) == otlp_check.check(arrived) == []
    names = [pair.key for pair in arrived.resource_profiles[0].resource.attributes]
    assert set(names) == {""}  # it is a reference now: the test of what we make of these is none without one


def test_many_come_out_once_each(collector):
    sent = [made_otlp.small(f"web {number}").request for number in range(20)]
    assert {post(collector.url, request).status for request in sent} == {200}
    assert otlp_check.equal(collector.received(), sent)


def test_it_comes_back_where_it_was(collector):
    before, after = made_otlp.small("before").request, made_otlp.small("after").request
    url = collector.url
    assert post(url, before).status == 200
    collector.kill()
    with pytest.raises(urllib.error.URLError):
        post(url, after)
    collector.start()
    assert collector.url == url and post(url, after).status == 200
    assert otlp_check.equal(collector.received(), [before, after])


def test_what_is_on_its_way_when_it_is_killed_comes_twice(collector):
    """Once before and once when it is sent again, which who sent it must do."""
    request = made_otlp.small().request
    collector.receiver.answer(Answer(delay_s=FOREVER), times=1)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        sent = pool.submit(post, collector.url, request)
        wait_until(lambda: collector.receiver.arrivals, "the request")
        collector.kill()
        with pytest.raises((OSError, http.client.HTTPException)):
            sent.result()
    collector.start()
    assert post(collector.url, request).status == 200
    assert [arrival.request for arrival in collector.receiver.arrivals] == 2 * collector.received()


@pytest.mark.parametrize("answer, status", [
    (Answer(503, retry_after=7), 503), (Answer(429), 429), (Answer(400), 400), (Answer(raw=b"what?\r\n\r\n"), 503)])
def test_it_says_what_the_receiver_has_said(collector, answer, status):
    request = made_otlp.small().request
    collector.receiver.answer(answer, times=1)
    assert post(collector.url, request).status == status
    assert collector.received() == [] and len(collector.receiver.arrivals) == 1
    assert post(collector.url, request).status == 200 and len(collector.received()) == 1


def test_it_refuses_what_is_no_request(collector):
    assert post(collector.url, b"\x0a\x7fxyz", **{"Content-Encoding": "identity"}).status == 400
    assert collector.receiver.arrivals == []


# ---- the receiver alone ----

@pytest.mark.short
def test_a_receiver_answers_as_it_is_told_and_then_as_before(receiver):
    request = made_otlp.small().request
    receiver.answer(Answer(503, retry_after=3), times=1)
    receiver.answer(Answer(429), times=1)
    receiver.answer(Answer(rejected=2, message="too old"), times=1)
    said = [post(receiver.url, request) for _ in range(4)]
    assert [answer.status for answer in said] == [503, 429, 200, 200]
    assert said[0].headers["Retry-After"] == "3" and "Retry-After" not in said[1].headers
    assert (said[2].response.partial_success.rejected_profiles, said[2].response.partial_success.error_message) == (2, "too old")
    assert not said[3].response.HasField("partial_success")
    assert receiver.received() == [request, request] and len(receiver.arrivals) == 4
    receiver.answer(Answer(400))
    assert [post(receiver.url, request).status for _ in range(2)] == [400, 400]


@pytest.mark.short
def test_a_receiver_refuses_what_it_can_not_read(receiver):
    assert post(receiver.url, b"nothing").status == 400
    assert post(receiver.url, made_otlp.small().request, **{"Content-Type": "application/json"}).status == 400
    assert post(receiver.url.replace("profiles", "traces"), made_otlp.small().request).status == 404
    assert receiver.received() == []


@pytest.mark.short
def test_a_receiver_answers_nonsense(receiver):
    request = made_otlp.small().request
    receiver.answer(Answer(body=b"\xff" * 64), times=1)
    with pytest.raises(Exception, match="(?i)pars"):
        post(receiver.url, request)
    receiver.answer(Answer(raw=b"\x00\x01 what?\r\n\r\n"), times=1)
    with pytest.raises((http.client.HTTPException, urllib.error.URLError)):
        post(receiver.url, request)
    assert len(receiver.received()) == 1  # its nonsense stands behind "200 OK"


@pytest.mark.short
def test_a_receiver_answers_late_or_never(receiver):
    request = made_otlp.small().request
    receiver.answer(Answer(delay_s=0.2), times=1)
    begin = time.monotonic()
    assert post(receiver.url, request).status == 200 and time.monotonic() - begin >= 0.2
    receiver.answer(Answer(delay_s=FOREVER), times=1)
    with pytest.raises(OSError):
        post(receiver.url, request, timeout=0.2)
    assert len(receiver.received()) == 1 and len(receiver.arrivals) == 2
