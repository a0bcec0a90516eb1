/* SPDX-License-Identifier: MIT */
/* The bytes as a predicted payload that may be of any size, and as a payload: what was predicted comes back, and so
 * does what was read. */
#include "formats/codec/codec_predict.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void check_comes_back(struct prediction *prediction, const struct bytes *payload)
{
    struct bytes predicted = { 0 }, back = { 0 };
    if (codec_predict_payload(prediction, payload, &predicted)) {
        require(codec_predict_undo(prediction, cursor_of(predicted.at, predicted.size), payload->size, &back));
        require(back.size == payload->size && memcmp(back.at, payload->at, payload->size) == 0);
    }
    bytes_free(&predicted);
    bytes_free(&back);
}

FUZZ_TARGET(predict)
{
    static struct prediction prediction; /* as it is used again for each block */
    struct bytes payload = { 0 };
    for (size_t most = size; most <= 16 * size && most > 0; most *= 4) {
        payload.size = 0;
        if (codec_predict_undo(&prediction, cursor_of(bytes, size), most, &payload)) {
            require(payload.size == most);
            check_comes_back(&prediction, &payload);
        }
    }
    bytes_free(&payload);
    check_comes_back(&prediction, &(struct bytes){ (unsigned char *)bytes, size, size });
    return 0;
}
