/* SPDX-License-Identifier: MIT */
/* The topics of a predicted payload's contexts, by the numbers of schemas/stream.md, "Predicted payloads". For
 * codec_predict.c and predicted_stacks.c. */
#ifndef PYREEL_FORMATS_CODEC_PREDICTED_CONTEXTS_H
#define PYREEL_FORMATS_CODEC_PREDICTED_CONTEXTS_H

#include "formats/codec/predictor.h"

enum topic {
    TOPIC_BASE = 1,
    TOPIC_SHAPE,
    TOPIC_JITTER,
    TOPIC_REPEAT,
    TOPIC_THREAD,
    TOPIC_CAUSE,
    TOPIC_POP,
    TOPIC_POP_CALLER,
    TOPIC_POP_COUNT,
    TOPIC_POP_MORE,
    TOPIC_CALL_AFTER,
    TOPIC_CALL_BEFORE,
    TOPIC_CALL_PATH,
    TOPIC_NEW,
    TOPIC_DISTANCE,
    TOPIC_LENGTH,
    TOPIC_FIELD,
    TOPIC_BEHIND,
    TOPIC_BYTE,
};

/* The context of a topic and a number. */
static inline uint32_t predicted_contexts_of(enum topic topic, uint32_t number)
{
    return predictor_context(predictor_context(0, topic), number);
}

#endif
