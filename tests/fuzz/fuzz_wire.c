/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_wire.c - what munged hands out of a credential: it is ours only when its first line is, and
 * then all that follows is handed over.
 */
#include "conf.h"
#include "fuzz.h"
#include "wire.h"

#define HEAD "slurm-fabric 1 c1 POST /v1/record\n"

static void run(const char *data, size_t len)
{
	const struct conf conf = { .cluster = (char *)"c1" };
	struct err err = { "" };
	uid_t uid = 1;
	char *json;
	int rc;

	fuzz_wrap_credential(data, len);
	rc = wire_open(&conf, "", "POST", "/v1/record", &uid, &json, &err);
	must(rc == 0 || (err.text[0] && !json));
	if (rc == 0) {
		must(len >= strlen(HEAD) && memcmp(data, HEAD, strlen(HEAD)) == 0);
		must(strlen(json) == len - strlen(HEAD) && uid == 0);
	}
	free(json);
}

const struct fuzz_target fuzz_wire = { "wire", "", run };
