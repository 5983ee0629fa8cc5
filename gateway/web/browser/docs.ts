/** Buttons that copy the code of the documents (gateway/web/), which read the same without this script. */
const SHOWN_MS = 1500;

for (const block of document.querySelectorAll('pre')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(block.textContent ?? '').then(
      () => show(button, 'Copied'),
      () => show(button, 'Not allowed'),
    );
  });
  const frame = document.createElement('div');
  frame.className = 'code';
  block.replaceWith(frame);
  frame.append(block, button);
}

function show(button: HTMLButtonElement, text: string): void {
  button.textContent = text;
  setTimeout(() => {
    button.textContent = 'Copy';
  }, SHOWN_MS);
}
