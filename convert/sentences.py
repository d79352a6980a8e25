"""What voices are asked to say when they are judged: no digits, whose spellings differ, and nothing that calibrates."""

ENGLISH = (
    "The weather forecast says that it will rain tomorrow afternoon.",
    "Please remember to close the window before you leave the house.",
    "My brother works as a doctor in a small hospital near the river.",
    "She bought fresh bread, butter and a bottle of milk at the market.",
    "The train to the airport leaves from platform seven every half an hour.",
    "Learning a new language takes time, but it opens many doors.",
    "He could not find his keys, so he waited outside until she came home.",
    "The museum is closed on Monday, but it stays open late on Friday.",
    "We walked along the beach and watched the sun go down.",
    "Could you tell me where the nearest post office is?",
)
CHINESE = (
    "今天天气很好，我们去公园散步吧。",
    "请问去火车站应该怎么走？",
    "小明昨天下午去图书馆借了三本书。",
    "这家餐厅的饺子非常好吃。",
    "医生说每天要多喝水，早点睡觉。",
    "我的妈妈是一位中学老师。",
    "春天来了，公园里的花都开了。",
    "他每天早上六点起床跑步。",
    "我们明天一起去看电影好吗？",
    "学习一门新的语言需要很多时间。",
)
