/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_options.c - what users and administrators say to fabric.so and job_submit_fabric.so: a value
 * that is accepted fits a packet; words of the input are plugstack arguments, and variables of a
 * job.
 */
#include "classes.h"
#include "env.h"
#include "fuzz.h"
#include "plugin.h"

#define WORDS 16

static void check_fits(const char *value, char member[PACKET_WORD], struct packet *p)
{
	char text[PACKET_MAX];

	must(strlen(value) < PACKET_WORD);
	strcpy(member, value);
	must(packet_write(p, text) > 0);
}

static void check_options(const char *value)
{
	struct packet p = { .kind = PACKET_STEP_BEGIN, .node_count = 1 };
	struct class_wish wish;
	struct err err;

	for (int i = 0; i < OPTION_COUNT; i++) {
		int rc = plugin_option_check((enum plugin_option)i, value, &err);

		must(rc == 0 || (rc == -EINVAL && err.text[0]));
		if (rc == 0)
			check_fits(value,
				   i == OPTION_CLASS	? p.class
				   : i == OPTION_SAMPLE ? p.sample
							: p.env,
				   &p);
	}
	if (class_parse(value, &wish, &err) == 0)
		must(wish.name[0] && strlen(wish.name) <= CLASS_NAME_MAX &&
		     wish.prefer_min <= CLASS_PREFER_MAX);
	class_max_wait(value);
}

static void check_gpus(const char *list)
{
	struct packet p = { .kind = PACKET_STEP_BEGIN, .node_count = 1, .gpus_known = true };
	char text[PACKET_MAX];

	plugin_list_count(list);
	if (!plugin_gpus_valid(list) || strlen(list) >= sizeof(p.gpus))
		return;
	strcpy(p.gpus, list);
	must(packet_write(&p, text) > 0);
}

static void run(const char *data, size_t len)
{
	char *text = fuzz_text(data, len), *words[WORDS], *save = NULL;
	struct plugin_config config;
	struct err err = { "" };
	int count = 0;

	check_options(text);
	check_gpus(text);
	for (char *word = strtok_r(text, " \n", &save); word && count < WORDS;
	     word = strtok_r(NULL, " \n", &save))
		words[count++] = word;
	must(plugin_config_parse(&config, count, words, "n1", &err) == 0 || err.text[0]);
	must(config.run[0] == '/' && strlen(config.run) < PLUGIN_PATH);
	must(env_wanted_parse(config.env) >= 0);
	class_find((const char *const *)words, (size_t)count);
	free(text);
}

const struct fuzz_target fuzz_options = { "options", "", run };
