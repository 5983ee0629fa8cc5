/**
 * The bytes of request line and headers that uWebSockets.js takes. It reads them from the environment when it is
 * loaded, so this module is imported before it: 8 KiB of headers and a request line beside them, in place of its 4 KiB,
 * which the cookies of a browser fill. A variable that is set already stays.
 */
process.env['UWS_HTTP_MAX_HEADERS_SIZE'] ??= String(8 * 1024 + 512);
