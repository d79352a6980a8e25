"""What the real voice is asked to say besides what `convert evaluate` has it say: an English word in each Chinese sentence."""

MIXED = (
    "我昨天买了一台新的 computer，非常喜欢。",
    "请把这个 email 发给你的经理。",
    "他在 Google 工作了五年。",
    "我们下午三点开一个 meeting 吧。",
    "这个 video 很有意思，你应该看一看。",
)
