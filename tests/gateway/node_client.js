// A client of v1's protocol in Node.js, made from our .proto files: @grpc/grpc-js and Node's HTTP.
//
//     node node_client.js GRPC_ADDRESS HTTP_ADDRESS FOLDER_OF_PROTOS SHARED_MEMORY_KEY
//
// Prints its results as one line of JSON.
'use strict';

const fs = require('fs');
const http = require('http');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const [, , grpcAddress, httpAddress, protos, key] = process.argv;
const options = { keepCase: true, longs: String, enums: String, defaults: true };
const definition = loader.loadSync('tensorrtserver/api/grpc_service.proto',
  { ...options, includeDirs: [protos] });
const Service = grpc.loadPackageDefinition(definition).nvidia.inferenceserver.GRPCService;
const client = new Service(grpcAddress, grpc.credentials.createInsecure());

const A = Int32Array.from({ length: 16 }, (_, n) => n);
const B = new Int32Array(16).fill(1);
const bytes = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength);
const copied = (data) => data.buffer.slice(data.byteOffset, data.byteOffset + data.length);
const ints = (data) => Array.from(new Int32Array(copied(data)));
const floats = (data) => Array.from(new Float32Array(copied(data)));

// A unary call → its response, or the gRPC status that came in the trailers.
function call(rpc, request, extra = {}) {
  return new Promise((done) => {
    client[rpc](request, new grpc.Metadata(), extra, (error, response) => done(error
      ? { grpc_code: error.code, details: error.details } : response));
  });
}

function simple(id, outputs = ['OUTPUT0', 'OUTPUT1']) {
  return {
    model_name: 'simple', model_version: -1, raw_input: [bytes(A), bytes(B)],
    meta_data: {
      id, batch_size: 1, output: outputs.map((name) => ({ name })),
      input: ['INPUT0', 'INPUT1'].map((name) => ({ name, dims: [16] })),
    },
  };
}

function single(model, input, data, fields = {}, output = { name: 'OUTPUT0' }) {
  const name = output.name === 'OUTPUT' ? 'INPUT' : 'INPUT0';
  return {
    model_name: model, model_version: -1, raw_input: [bytes(data)],
    meta_data: { batch_size: 1, input: [{ name, dims: [input] }], output: [output], ...fields },
  };
}

// Send requests on one stream, each after the answer before it with `wait` → the responses.
function stream(requests, wait) {
  return new Promise((done) => {
    const open = client.StreamInfer();
    const found = [];
    const left = [...requests];
    const next = () => (left.length ? open.write(left.shift()) : open.end());
    open.on('data', (response) => { found.push(response); if (wait) next(); });
    open.on('error', (error) => done([...found, { grpc_code: error.code, details: error.details }]));
    open.on('end', () => done(found));
    if (wait) next(); else { left.forEach((one) => open.write(one)); open.end(); }
  });
}

async function inference() {
  const raw = await call('Infer', simple('9007199254740993'));
  const scores = Float32Array.from({ length: 10 }, (_, n) => n / 10);
  const cls = await call('Infer', single('classify', 10, scores, {},
    { name: 'OUTPUT', cls: { count: 3 } }));
  return {
    status: raw.request_status, header: raw.meta_data, outputs: raw.raw_output.map(ints),
    classes: cls.meta_data.output[0].batch_classes[0].cls, class_bytes: cls.raw_output.length,
    zipped: (await zipped()).raw_output.map(ints),
    late: await call('Infer', single('slow', 1, new Float32Array([2])),
      { deadline: Date.now() + 300 }),
  };
}

// The same request compressed by gzip, as gRPC clients may send it.
async function zipped() {
  const other = new Service(grpcAddress, grpc.credentials.createInsecure(),
    { 'grpc.default_compression_algorithm': 2, 'grpc.default_compression_level': 3 });
  const response = await new Promise((done) => {
    other.Infer(simple(1), (error, answer) => done(error || answer));
  });
  other.close();
  return response;
}

async function streams() {
  const sequence = [3, 4, 5].map((value, n) => single('sequence_sum', 1, new Int32Array([value]),
    { correlation_id: '18446744073709551615', flags: (n === 0 ? 1 : 0) | (n === 2 ? 2 : 0) },
    { name: 'OUTPUT' }));
  const mixed = [simple(1), single('failing', 1, new Float32Array([7]), { id: 2 }), simple(3)];
  return {
    sequence: (await stream(sequence, true)).map((one) => ints(one.raw_output[0])),
    mixed: (await stream(mixed, false)).map((one) => [one.meta_data.id, one.request_status]),
    empty: await stream([], false),
    left: await leave(),
  };
}

// A client that cancels its stream while a request is in progress.
function leave() {
  return new Promise((done) => {
    const open = client.StreamInfer();
    open.on('data', () => {});
    open.on('error', (error) => done(error.code));
    open.write(single('slow', 1, new Float32Array([0.5])));
    setTimeout(() => open.cancel(), 200);
  });
}

async function control() {
  const ready = await call('Health', { mode: 'ready' });  // it is not, while a model is unloaded
  const status = await call('Status', { model_name: 'simple' });
  const model = status.server_status.model_status.simple;
  const load = await call('ModelControl', { model_name: 'spare', type: 'LOAD' });
  const unload = await call('ModelControl', { model_name: 'spare', type: 'UNLOAD' });
  const index = await call('Repository', { index: true });
  return {
    live: (await call('Health', { mode: 'live' })).health,
    ready: ready.health, state: status.server_status.ready_state,
    inputs: model.config.input,
    all: Object.keys((await call('Status', {})).server_status.model_status).sort(),
    codes: [load, unload].map((one) => one.request_status.code),
    index: index.index.models.map((one) => one.name),
  };
}

async function errors() {
  const short = simple(4);
  short.raw_input = [bytes(A).subarray(0, 60), bytes(B)];
  const unknown = { ...simple(5), model_name: 'nope' };
  return {
    unknown: await call('Infer', unknown), short: await call('Infer', short),
    status: await call('Status', { model_name: 'nope' }),
    method: await odd('Nope', Buffer.alloc(0)),
    garbage: await odd('Infer', Buffer.from([255, 255, 255, 255])),
    too_old: await odd('Profile', Buffer.alloc(0)),
  };
}

// Any bytes as the request of any method → the gRPC code.
function odd(method, data) {
  return new Promise((done) => {
    const path = `/nvidia.inferenceserver.GRPCService/${method}`;
    client.makeUnaryRequest(path, (x) => x, (x) => x, data, (error) => done(error ? error.code : 0));
  });
}

async function sharedMemory() {
  const place = `/dev/shm${key}`;
  fs.writeFileSync(place, Buffer.concat([bytes(A), bytes(B), Buffer.alloc(64)]));
  const register = { name: 'node', byte_size: 192, system_shared_memory: { shared_memory_key: key } };
  const asked = simple(6, ['OUTPUT0']);
  asked.raw_input = [];
  asked.meta_data.input.forEach((one, n) => {
    one.shared_memory = { name: 'node', offset: 64 * n, byte_size: 64 };
  });
  asked.meta_data.output[0].shared_memory = { name: 'node', offset: 128, byte_size: 64 };
  const control = (request) => call('SharedMemoryControl', request);
  const first = await control({ register });
  const again = await control({ register });
  const listed = await control({ status: {} });
  const done = await call('Infer', asked);
  const output = ints(fs.readFileSync(place).subarray(128));
  const gone = await control({ unregister: { name: 'node' } });
  fs.unlinkSync(place);
  return {
    first: first.request_status, again: again.request_status, gone: gone.request_status.code,
    listed: listed.shared_memory_status.shared_memory_region, done: done.request_status, output,
  };
}

// One HTTP request; a body that is an array is sent in chunks.
function ask(method, path, headers = {}, body = null) {
  return new Promise((done, failed) => {
    const [host, port] = httpAddress.split(':');
    const request = http.request({ host, port, method, path, headers }, (response) => {
      const parts = [];
      response.on('data', (part) => parts.push(part));
      response.on('end', () => done({
        code: response.statusCode, status: response.headers['nv-status'],
        header: response.headers['nv-inferresponse'], body: Buffer.concat(parts),
      }));
    });
    request.on('error', failed);
    (Array.isArray(body) ? body : []).forEach((part) => request.write(part));
    request.end(Array.isArray(body) ? undefined : body);
  });
}

async function overHttp() {
  const header = { 'NV-InferRequest': 'batch_size: 1 input { name: "INPUT0" dims: 16 } '
    + 'input { name: "INPUT1" dims: 16 } output { name: "OUTPUT0" }' };
  const body = Buffer.concat([bytes(A), bytes(B)]);
  const whole = await ask('POST', '/api/infer/simple?format=binary', header, body);
  const chunked = await ask('POST', '/api/infer/simple', header, [bytes(A), bytes(B)]);
  const fetched = await fetch(`http://${httpAddress}/api/infer/simple`,
    { method: 'POST', headers: header, body });
  const unknown = await ask('POST', '/api/infer/nope', header, body);
  const json = await ask('GET', '/api/status/simple', { Accept: 'application/json' });
  return {
    live: (await ask('GET', '/api/health/live')).code,
    whole: ints(whole.body.subarray(0, 64)), header: whole.header,
    tail: bytesToHeader(whole.body.subarray(64)),
    chunked: ints(chunked.body.subarray(0, 64)),
    fetched: ints(Buffer.from(await fetched.arrayBuffer()).subarray(0, 64)),
    unknown: [unknown.code, unknown.status, unknown.header, unknown.body.length],
    json: Object.keys(JSON.parse(json.body.toString()).model_status),
    wrong_method: (await ask('GET', '/api/infer/simple')).code,
    wrong_path: (await ask('GET', '/nothing')).code,
  };
}

// The message behind the tensors, decoded with the .proto file.
function bytesToHeader(data) {
  const api = loader.loadSync('tensorrtserver/api/grpc_service.proto',
    { ...options, includeDirs: [protos] });
  const service = api['nvidia.inferenceserver.GRPCService'];
  const field = Buffer.concat([Buffer.from([0x12, data.length]), data]); // InferResponse.meta_data
  return service.Infer.responseDeserialize(field).meta_data;
}

async function main() {
  const seen = {
    inference: await inference(), streams: await streams(), control: await control(),
    errors: await errors(), shared_memory: await sharedMemory(), http: await overHttp(),
  };
  client.close();
  console.log(JSON.stringify(seen));
}

main();
