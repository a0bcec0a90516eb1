/* SPDX-License-Identifier: MIT */
/* libcurl, loaded when a request is made. It brings some 30 libraries of its own: a program that is linked with it
 * takes 10 ms of CPU time to start, ten times as long as pyreel-gecko takes for a small recording. */
#ifndef PYREEL_CONVERT_SHARING_LIBCURL_H
#define PYREEL_CONVERT_SHARING_LIBCURL_H

#include "formats/base/fault.h"

#include <curl/curl.h>

/* The functions of libcurl that we call, each without its prefix curl_. */
struct libcurl {
    CURLcode (*global_init)(long flags);
    CURL *(*easy_init)(void);
    CURLcode (*easy_set)(CURL *curl, CURLoption option, ...); /* curl_easy_setopt */
    CURLcode (*easy_perform)(CURL *curl);
    CURLcode (*easy_get)(CURL *curl, CURLINFO info, ...); /* curl_easy_getinfo */
    void (*easy_cleanup)(CURL *curl);
    const char *(*easy_strerror)(CURLcode code);
    struct curl_slist *(*slist_append)(struct curl_slist *list, const char *string);
    void (*slist_free_all)(struct curl_slist *list);
};

/* The functions, loaded and ready. NULL with the reason when libcurl is not there. */
const struct libcurl *libcurl_load(struct fault *why);

#endif
