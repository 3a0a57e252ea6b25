"""The client over HTTP of programs that catch no errors of clients."""

import tritonclient.http as httpclient

HttpClient = httpclient.InferenceServerClient
