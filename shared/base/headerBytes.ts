/**
 * The size of request line and headers that uWebSockets.js accepts. It reads the size from the environment when it is
 * loaded, so this module is imported before it: 8 KiB of headers plus a request line, instead of its 4 KiB, which a
 * browser's cookies can fill. A variable that is already set stays.
 */
process.env['UWS_HTTP_MAX_HEADERS_SIZE'] ??= String(8 * 1024 + 512);
