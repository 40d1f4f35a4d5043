"""The E-model (ITU-T G.107, 06/2015): how good a conversation is, from delay and loss.

All parameters that a network does not change have the values of G.107, table 2. Names are the
recommendation's.
"""

from __future__ import annotations

import math

#: Table 2 of G.107: loudness ratings, side tone, noise, echo, quantisation.
SLR, RLR = 8.0, 2.0
STMR, DS, DR = 15.0, 3.0, 3.0
NC, NFOR, PS, PR = -70.0, -64.0, 35.0, 35.0
TELR, WEPL = 65.0, 110.0
QDU = 1.0
LSTR = STMR + DR

#: G.113, table I.4: equipment impairment and robustness to loss of G.711, with the concealment of
#: its appendix I (G.711's Bpl without any is 4.3).
G711_IE, G711_BPL = 0.0, 25.1


def basic_signal_to_noise() -> float:
    """Ro: clause 7.2."""
    olr = SLR + RLR
    nos = PS - SLR - DS - 100 + 0.004 * (PS - olr - DS - 14) ** 2
    pre = PR + 10 * math.log10(1 + 10 ** ((10 - LSTR) / 10))
    nor = RLR - 121 + pre + 0.008 * (pre - 35) ** 2
    nfo = NFOR + RLR
    no = 10 * math.log10(sum(10 ** (noise / 10) for noise in (NC, nos, nor, nfo)))
    return 15 - 1.5 * (SLR + no)


def _noise() -> float:
    """No, from Ro."""
    return (15 - basic_signal_to_noise()) / 1.5 - SLR


def simultaneous_impairment(one_way_ms: float) -> float:
    """Simultaneous impairment factor Is (clause 7.3)."""
    ro, no, olr = basic_signal_to_noise(), _noise(), SLR + RLR
    xolr = olr + 0.2 * (64 + no - RLR)
    iolr: float = 20 * ((1 + (xolr / 8) ** 8) ** (1 / 8) - xolr / 8)
    echo = math.exp(-one_way_ms / 4) * 10 ** (-TELR / 10)
    stmro = -10 * math.log10(10 ** (-STMR / 10) + echo)
    ist = (
        12 * (1 + ((stmro - 13) / 6) ** 8) ** (1 / 8)
        - 28 * (1 + ((stmro + 1) / 19.4) ** 35) ** (1 / 35)
        - 13 * (1 + ((stmro - 3) / 33) ** 13) ** (1 / 13)
        + 29
    )
    q = 37 - 15 * math.log10(QDU)
    g = 1.07 + 0.258 * q + 0.0602 * q**2
    y = (ro - 100) / 15 + 46 / 8.4 - g / 9
    z = 46 / 30 - g / 40
    iq = 15 * math.log10(1 + 10**y + 10**z)
    return float(iolr + ist + iq)


def delay_impairment(one_way_ms: float) -> float:
    """Id: clause 7.4, the same delay for talker echo, listener echo and the way of speech."""
    t, tr, ta = one_way_ms, 2 * one_way_ms, one_way_ms
    ro, no = basic_signal_to_noise(), _noise()
    terv = TELR - 40 * math.log10((1 + t / 10) / (1 + t / 150)) + 6 * math.exp(-0.3 * t**2)
    re = 80 + 2.5 * (terv - 14)
    roe = -1.5 * (no - RLR)
    half = (roe - re) / 2
    idte = (half + math.sqrt(half**2 + 100) - 1) * (1 - math.exp(-t))
    rle = 10.5 * (WEPL + 7) * (tr + 1) ** -0.25
    idle = (ro - rle) / 2 + math.sqrt((ro - rle) ** 2 / 4 + 169)
    if ta <= 100:
        idd = 0.0
    else:
        x = math.log2(ta / 100)
        idd = 25 * ((1 + x**6) ** (1 / 6) - 3 * (1 + (x / 3) ** 6) ** (1 / 6) + 2)
    return float(idte + idle + idd)


def effective_equipment_impairment(
    loss: float, *, ie: float = G711_IE, bpl: float = G711_BPL
) -> float:
    """Ie,eff for a share of lost packets (0–1) that are lost independently: clause 7.5."""
    percent = 100 * loss
    return ie + (95 - ie) * percent / (percent + bpl)


def rating(one_way_ms: float, loss: float, *, ie: float = G711_IE, bpl: float = G711_BPL) -> float:
    """The transmission rating R (0–100): clause 7.1, without advantage factor.

    Args:
        one_way_ms: From mouth to ear, in milliseconds.
        loss: Share of packets that are not played, 0–1.
        ie: Equipment impairment of the codec.
        bpl: Its robustness to loss.
    """
    found = (
        basic_signal_to_noise()
        - simultaneous_impairment(one_way_ms)
        - delay_impairment(one_way_ms)
        - effective_equipment_impairment(loss, ie=ie, bpl=bpl)
    )
    return min(max(found, 0.0), 100.0)


def mean_opinion_score(r: float) -> float:
    """MOS (1–4.5) of a rating: annex B."""
    if r <= 0:
        return 1.0
    if r >= 100:
        return 4.5
    # Below 6.5 the cubic falls under the worst opinion there is.
    return max(1.0, 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6)
