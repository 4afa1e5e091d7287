/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_map.c - a node's map: what is read is written in its canonical form, which stays as it is;
 * it is joined with a fabric; and the env file that is made of it has no line but its own.
 */
#include "env.h"
#include "fuzz.h"
#include "map.h"

static void check_text(const struct map *m)
{
	struct err err = { "" };
	char *text = fuzz_have(map_text(m)), *same;
	struct map *again = fuzz_have(map_parse(text, strlen(text), "fuzz", &err));

	same = fuzz_have(map_text(again));
	must(fuzz_same(text, same));
	map_free(again);
	free(same);
	free(text);
}

static void check_env(const struct map *m)
{
	char *text = fuzz_have(map_env_text(m)), out[ENV_LIST];
	size_t len = strlen(text), lines = 0;

	must(len > 0 && len <= ENV_MAX_BYTES && text[len - 1] == '\n');
	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	must(lines <= m->gpu_count + 2);
	if (m->boot_id && strlen(m->boot_id) >= 8)
		must(env_file_valid(text, len, m->boot_id));
	env_nccl(text, len, out, sizeof(out));
	free(text);
}

static void join(struct map *m)
{
	static struct fabric *fabric; /* never changed */
	size_t differ = 0, len;

	if (!fabric) {
		char *text = fuzz_data("contract/fabric.json", &len);

		fabric = fuzz_have(fabric_parse(text, len, "fabric.json", NULL));
		free(text);
	}
	must(map_join_fabric(m, fabric, &differ) == 0 && differ <= m->port_count);
}

static void run(const char *data, size_t len)
{
	struct err err = { "" };
	struct map *m = map_parse(data, len, "fuzz", &err);

	must(m || err.text[0]);
	if (!m)
		return;
	check_text(m);
	check_env(m);
	join(m);
	check_text(m);
	map_free(m);
}

const struct fuzz_target fuzz_map = { "map", "contract/map.json", run };
