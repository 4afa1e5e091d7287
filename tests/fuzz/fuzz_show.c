/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_show.c - what sfabric prints of an answer: the input is the answer to `sfabric show 17` and
 * to `sfabric map n1`, first as JSON and then for people.
 */
#include <getopt.h>

#include "commands.h"
#include "fuzz.h"
#include "text.h"

/* What is printed moves no terminal. */
static void check_output(const char *text)
{
	uint32_t code;

	for (size_t len; *text; text += len) {
		len = utf8_at(text, &code);
		must(len && (code == '\n' || code_printable(code)));
	}
}

static void run_command(int (*command)(const struct conf *conf, int argc, char **argv), char *what,
			char *option)
{
	const struct conf conf = { .path = (char *)"fuzz", .root = (char *)"/nonexistent" };
	char *argv[] = { (char *)"command", what, option, NULL }, *text = NULL;
	FILE *out = stdout, *err = stderr;
	int status;
	size_t len;

	stdout = stderr = fuzz_have(open_memstream(&text, &len));
	optind = 0;
	status = command(&conf, option ? 3 : 2, argv);
	fclose(stdout);
	stdout = out;
	stderr = err;
	must(status >= 0 && status <= 3);
	check_output(text);
	free(text);
}

static void run(const char *data, size_t len)
{
	char *text = fuzz_text(data, len);

	fuzz_wrap_reply(200, text);
	run_command(cmd_show, (char *)"17", (char *)"--json");
	run_command(cmd_show, (char *)"17", NULL);
	run_command(cmd_map, (char *)"n1", (char *)"--json");
	run_command(cmd_map, (char *)"n1", NULL);
	fuzz_wrap_reply(403, text);
	run_command(cmd_show, (char *)"17", NULL);
	free(text);
}

const struct fuzz_target fuzz_show = { "show", "story/*/job.json contract/map.json", run };
