/* The C API of ETC's runtime: TLS 1.3 for a program's own connections between
 * processes of a job, such as those of a launcher. The job's token is an
 * external pre-shared key (RFC 8446, 4.2.11): both sides prove that they know
 * it, and there are no certificates.
 *
 * The program's event loop carries the bytes:
 *
 *   etc_tls_new(token, ETC_TLS_CONNECT, &tls);
 *   etc_tls_receive(tls, bytes, size, value); // what came from the peer
 *   etc_tls_send(tls, bytes, size);           // once etc_tls_is_open()
 *   etc_tls_take(tls, value);                 // what has to go to the peer
 *
 * After etc_tls_new() and every other call, also one that failed, pass on what
 * etc_tls_take() returns. Whoever listens should limit how many connections
 * are not open, and how long and with how many bytes they may try.
 *
 * Whoever connects cannot tell which process of the job it has reached: the
 * first messages should name both.
 *
 * All came with ETC_RUN_API_VERSION 10; errors and ownership follow the rules
 * of run.h. A session may be used by one thread at a time. */

#ifndef ETC_C_TLS_H
#define ETC_C_TLS_H

#include "etc-c/store.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum etc_tls_side {
  ETC_TLS_CONNECT = 0,
  ETC_TLS_ACCEPT = 1
} etc_tls_side;

typedef struct etc_tls etc_tls;

/* The token is text of 16 to 64 characters, and should be random. */
ETC_API etc_error *etc_tls_new(const char *token, etc_tls_side side,
                               etc_tls **tls);

/* Whether the peer has proved that it knows the token. */
ETC_API int etc_tls_is_open(const etc_tls *tls);

/* Assigns what the peer said in these bytes, which may be nothing. An error
 * ends the session: of kind ETC_ERROR_PEER if the peer has another token, and
 * ETC_ERROR_MALFORMED if it does not speak TLS 1.3 with a token, has ended the
 * session, or bytes were changed. */
ETC_API etc_error *etc_tls_receive(etc_tls *tls, const void *data, size_t size,
                                   etc_value *said);
ETC_API etc_error *etc_tls_send(etc_tls *tls, const void *data, size_t size);
ETC_API void etc_tls_take(etc_tls *tls, etc_value *bytes);

/* NULL is ignored. */
ETC_API void etc_tls_free(etc_tls *tls);

#ifdef __cplusplus
}
#endif

#endif /* ETC_C_TLS_H */
