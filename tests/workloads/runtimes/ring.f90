! SPDX-License-Identifier: MIT
!
! Workload: ring. Two or more ranks of MPI, called from Fortran. Each rank prints its rank, and how
! often it has called each function.
program ring
    implicit none
    include 'mpif.h'
    integer :: rank, ranks, err, i, token, total
    integer, parameter :: rounds = 10

    call mpi_init(err)
    call mpi_comm_rank(mpi_comm_world, rank, err)
    call mpi_comm_size(mpi_comm_world, ranks, err)
    token = 0
    do i = 1, rounds
        if (rank == 0) then
            call mpi_send(token, 1, mpi_integer, 1, 0, mpi_comm_world, err)
        else if (rank == 1) then
            call mpi_recv(token, 1, mpi_integer, 0, 0, mpi_comm_world, mpi_status_ignore, err)
        end if
        call mpi_allreduce(token, total, 1, mpi_integer, mpi_sum, mpi_comm_world, err)
        call mpi_barrier(mpi_comm_world, err)
    end do
    call mpi_finalize(err)
    print '(a,i0,a,i0,a,i0,a,i0,a,i0)', 'rank=', rank, ' MPI_Send=', merge(rounds, 0, rank == 0), &
        ' MPI_Recv=', merge(rounds, 0, rank == 1), ' MPI_Allreduce=', rounds, ' MPI_Barrier=', rounds
end program ring
