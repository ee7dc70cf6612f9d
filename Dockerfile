# Two images from one build: the reference receiver, and the simulator to run beside your own stack.
#
#   docker build --target receiver -t my-receiver .
#   docker build --target simulator -t voice-agent-simulator .

FROM node:24-slim AS build
WORKDIR /kit
COPY package.json package-lock.json .npmrc ./
COPY tools tools
RUN npm ci
COPY . .
RUN npm run build

FROM node:24-slim AS installed
WORKDIR /kit
ENV NODE_ENV=production
COPY package.json package-lock.json .npmrc ./
# Without the workspace that pins Node.js: the image has its own.
RUN npm ci --omit=dev --workspaces=false
COPY --from=build /kit/dist dist
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data

FROM installed AS receiver
ENV HOST=0.0.0.0 DATABASE_URL=sqlite:/data/receiver.db
EXPOSE 3000 3001
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["node", "dist/receiver/main.js", "health"]
ENTRYPOINT ["node", "dist/receiver/main.js"]

FROM installed AS simulator
EXPOSE 4010
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["node", "dist/simulator/main.js", "health"]
ENTRYPOINT ["node", "dist/simulator/main.js"]
CMD ["serve", "--host=0.0.0.0"]
