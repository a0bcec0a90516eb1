/* SPDX-License-Identifier: MIT */
#include "convert/frame_options.h"

#include "convert/convert.h"

enum option_number {
    OPTION_HIDE = OPTION_FRAMES,
    OPTION_FOCUS,
    OPTION_FOLD,
    OPTION_NO_GC,
    OPTION_NO_NATIVE,
};

const struct argument frame_options_rows[] = {
    { OPTION_HIDE, 0, "hide", "RE", TAKES_FRAMES, "drop frames that match the regular expression RE" },
    { OPTION_FOCUS, 0, "focus", "RE", TAKES_FOCUS, "keep only stacks with a frame that matches RE" },
    { OPTION_FOLD, 0, "fold", "KIND", TAKES_FRAMES, "fold stdlib,site-packages,import frames into one" },
    { OPTION_NO_GC, 0, "no-gc", NULL, TAKES_FRAMES, "drop <GC> frames" },
    { OPTION_NO_NATIVE, 0, "no-native", NULL, TAKES_FRAMES, "drop frames of native code, but not of the kernel" },
    { 0 },
};

static bool add_pattern(struct frame_options *options, struct patterns *patterns, const char *option,
                        const char *expression)
{
    struct fault reason = { 0 };
    if (!patterns_add(patterns, expression, &reason))
        fault(&options->problem, "--%s '%s' is no regular expression: %s", option, expression, reason.text);
    return true;
}

bool frame_options_apply(struct frame_options *options, int number, const char *value)
{
    struct frame_filter *filter = &options->filter;
    switch ((enum option_number)number) {
    case OPTION_HIDE:
        return add_pattern(options, &filter->hide, "hide", value);
    case OPTION_FOCUS:
        return add_pattern(options, &filter->focus, "focus", value);
    case OPTION_FOLD:
        return frame_filter_fold(filter, value);
    case OPTION_NO_GC:
        return filter->no_gc = true;
    case OPTION_NO_NATIVE:
        return filter->no_native = true;
    }
    return false;
}

void frame_options_free(struct frame_options *options)
{
    frame_filter_free(&options->filter);
}
