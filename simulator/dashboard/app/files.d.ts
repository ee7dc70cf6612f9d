/** A file as text, as the bundler puts it into the script. */
declare module "*.txt" {
  const text: string;
  export default text;
}
