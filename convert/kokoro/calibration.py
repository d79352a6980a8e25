"""Sentences that calibrate the quantised decoder: short ones of every kind the voice will meet, in both languages.

They go through the runtime's own text front end and stages; several voices speak them, since activations differ by voice.
"""

from __future__ import annotations

SENTENCES = (
    ("af_heart", "The quick brown fox jumps over the lazy dog."),
    ("am_michael", "Is anybody there? Please answer me!"),
    ("zf_xiaoxiao", "今天天气很好，我们去公园散步吧。"),
    ("bf_emma", "She sells sea shells by the sea shore."),
    ("zm_yunxi", "请问，去火车站怎么走？"),
    ("af_bella", "Seven thousand people watched the final match."),
    ("zf_xiaobei", "春天来了，花儿都开了。"),
    ("bm_george", "However, the judge measured each genuine treasure."),
    ("zf_xiaoyi", "他用电脑写了一封很长的信。"),
    ("am_fenrir", "Thank you for calling; your order will arrive on Thursday."),
    ("zm_yunyang", "据报道，这座城市的人口超过一千万。"),
    ("af_heart", "Oh no, I have forgotten my umbrella again."),
    ("zf_xiaoni", "不要着急，慢慢来。"),
    ("af_bella", "My favourite subjects are physics, music, and art."),
    ("zf_xiaoxiao", "这个 program 运行得很快。"),
    ("am_michael", "Yes."),
    ("zm_yunxi", "五四三二一，出发！"),
    ("bf_emma", "Would you like a cup of tea with your breakfast?"),
    ("zf_xiaobei", "医生说，每天要喝八杯水。"),
    ("bm_george", "Thick fog covered the whole valley this morning."),
    ("af_heart", "Zebras, giraffes and elephants roam the open plains."),
    ("zf_xiaoxiao", "我喜欢听音乐，也喜欢看书。"),
    ("am_fenrir", "Buy low, sell high, and never panic."),
    ("zm_yunyang", "欢迎乘坐本次列车。"),
)
