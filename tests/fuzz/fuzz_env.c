/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_env.c - the env file as a task reads it, and the list of the task's GPUs. The first part of
 * the input is the file, the second the list.
 */
#include "env.h"
#include "fuzz.h"

/* A list has ports between single commas, each once, and nothing that ends a line. */
static void check_list(const char *list)
{
	size_t len = strlen(list);

	must(len > 0 && !strchr(list, '\n'));
	must(list[0] != ',' && list[len - 1] != ',' && !strstr(list, ",,"));
	for (const char *a = list; a; a = strchr(a, ',') ? strchr(a, ',') + 1 : NULL)
		for (const char *b = strchr(a, ','); b; b = strchr(b + 1, ',')) {
			size_t n = strcspn(a, ",");

			must(strcspn(b + 1, ",") != n || memcmp(a, b + 1, n) != 0);
		}
}

static void run(const char *data, size_t len)
{
	char *text = fuzz_text(data, len), *parts[2], *file, out[ENV_LIST], boot[38];
	const char *gpus = fuzz_cut(text, parts, 2) > 1 ? parts[1] : "0,1";
	size_t size = strlen(parts[0]);

	file = fuzz_have(malloc(size + 1)); /* without the NUL: it is no string */
	memcpy(file, parts[0], size);
	snprintf(boot, sizeof(boot), "%.*s", (int)(size > 13 ? strcspn(parts[0] + 13, "\n") : 0),
		 size > 13 ? parts[0] + 13 : "");
	env_file_valid(file, size, boot);
	env_wanted_parse(gpus);
	must(!env_nccl(file, size, out, sizeof(out)) || !strchr(out, '\n'));
	for (int which = ENV_UCX; which <= ENV_NVSHMEM; which++) {
		if (env_gpu_list(file, size, which, gpus, out, sizeof(out)))
			check_list(out);
		if (env_gpu_list(file, size, which, gpus, out, 8))
			must(strlen(out) < 8);
	}
	free(file);
	free(text);
}

const struct fuzz_target fuzz_env = { "env", "contract/env", run };
