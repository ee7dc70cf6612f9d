/** Express 4, whose types are those of Express 5 as far as these tests go. */
declare module "express4" {
  import express from "express";

  export default express;
}
