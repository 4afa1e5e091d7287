/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent_log.h - how the parts of sfabricd say something to the person who reads its log.
 *
 * Only main() knows where a log goes; the parts are handed this.
 */
#ifndef FABRIC_AGENT_LOG_H
#define FABRIC_AGENT_LOG_H

#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>

struct agent_log {
	void (*line)(int level, const char *text); /* level: syslog's; called from any thread */
};

__attribute__((format(printf, 3, 4))) static inline void agent_say(const struct agent_log *log,
								   int level, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log->line(level, text);
}

#endif
