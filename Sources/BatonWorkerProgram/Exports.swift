// The settings of a program have types of BatonWorker and BatonTransfers, such as `WorkerConfiguration` and
// `TransferSettings`. These exports let a program name them, and what handlers use, with `import BatonWorkerProgram`
// alone.
@_exported public import BatonTransfers
@_exported public import BatonWorker
