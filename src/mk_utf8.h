/*
 * mk_utf8.h
 *		Text of the database as bytes of a record, which are UTF-8, and back.
 */
#ifndef MK_UTF8_H
#define MK_UTF8_H

/*
 * A text as a bytea in UTF-8, which may be the text itself.  22P05 if the text
 * cannot be converted; the error does not show it.
 */
extern struct varlena *mk_utf8_from_text(struct varlena *text);

/*
 * The bytes as text, which may be the bytes themselves; NULL if they are not
 * UTF-8, or the database's encoding lacks a character of them.  Depends only
 * on the bytes and the encoding.  mk_utf8_problem is a sentence that tells the
 * reason.
 */
extern struct varlena *mk_utf8_to_text(struct varlena *bytes);
extern const char *mk_utf8_problem(void);

#endif /* MK_UTF8_H */
